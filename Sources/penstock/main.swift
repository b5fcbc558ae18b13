import Control
print("penstock")
