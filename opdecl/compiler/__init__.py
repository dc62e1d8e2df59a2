"""The compiler of declarations: read, checked, differentiated, lowered, printed."""
