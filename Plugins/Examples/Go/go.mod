module penstock.example/lines

go 1.19
