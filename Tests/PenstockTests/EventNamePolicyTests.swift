import Penstock
import Testing

@Suite struct EventNamePolicyTests {
    @Test(arguments: [
        ("orderCompleted", "Order Completed", "order_completed"),
        ("OrderCompleted", "Order Completed", "order_completed"),
        ("productURLOpened", "Product Url Opened", "product_url_opened"),
        ("step2Shown", "Step2 Shown", "step2_shown"),
        ("Post Liked", "Post Liked", "post_liked"),
        ("already_snake", "Already Snake", "already_snake"),
        ("_hidden", "_Hidden", "_hidden"),
        ("größeGewählt", "Größe Gewählt", "größe_gewählt"),
        ("x", "X", "x"), ("", "", ""), ("__", "__", "__"),
    ])
    func `the policy determines the spelling of a name`(name: String, title: String, snake: String) {
        #expect(EventNamePolicy.titleCase.spelling(of: name) == title)
        #expect(EventNamePolicy.snakeCase.spelling(of: name) == snake)
        #expect(EventNamePolicy.verbatim.spelling(of: name) == name)
    }
}
