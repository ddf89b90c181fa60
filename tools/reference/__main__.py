"""`python -m reference` writes the page; `make reference` calls it."""

from reference.page import PAGE, render

if __name__ == "__main__":
    PAGE.write_text(render())
