// The start of the console: styles, colours, and the first drawing.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/controls.css";
import "./style/tables.css";
import "./style/panels.css";
import "./style/segments.css";
import "./style/workers.css";
import { App } from "./app";
import { firstTheme, showTheme } from "./theme";

showTheme(firstTheme());
const place = document.getElementById("console");
if (place !== null) render(<App />, place);
