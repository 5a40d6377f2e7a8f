// Plays one scenario: node run.js SCENARIO FACTS, where FACTS is JSON with the address of the server.
import { Browser, say } from "./browser.js";
import * as changes from "./changes.js";
import * as pages from "./pages.js";
import * as rights from "./rights.js";

const scenarios = { ...pages, ...changes, ...rights };

const [name, facts] = process.argv.slice(2);
const browser = await Browser.start(JSON.parse(facts));
await scenarios[name](browser);
await browser.end();
say("end");
// Standard input may still be open.
process.exit(0);
