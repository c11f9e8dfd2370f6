/** Starts the pages before the sign-in, and those of errors: only the theme switch. */

import { themeSwitch } from "./theme.js";

themeSwitch(document.getElementById("theme"));
