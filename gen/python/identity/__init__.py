# Code generated from proto/ by `make generate`. DO NOT EDIT.
