"""The only home of SQLAlchemy: rows in, values out.

``engine`` opens the database, ``rows`` holds the tables, ``journal`` what every change is recorded in, ``hints`` the
wake-up that follows a commit; then one module a noun. Rows never leave this folder. Imports ``domain`` and below.
"""
