import Delivery

extension DeliveryClaim.Settlement {
    var isDelivered: Bool { if case .all(.delivered) = self { true } else { false } }
}
