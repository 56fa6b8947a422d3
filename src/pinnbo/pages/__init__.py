"""Pages for the browser: the report and the lab page. They load nothing from anywhere and say things in plain words."""
