module github.com/interlock-run/interlock/tools/receiptcheck

go 1.26.0
