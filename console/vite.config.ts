// Builds the four files that the server embeds, with fixed names, and serves the pages while one
// develops them. `LEAFID` names the server that the development server passes calls on to.
import { defineConfig } from "vitest/config";

const LICENCES = `/*! The console of Leafid, under the Apache License 2.0. It contains, under the MIT License:
Preact, Copyright (c) 2015-present Jason Miller; uPlot, Copyright (c) 2022 Leon Sorokin.

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense,
and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN
NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY,
WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE. */`;

// Types of Node are not worth a dependency for one variable.
declare const process: { env: Record<string, string | undefined> };
const server = process.env["LEAFID"] ?? "http://127.0.0.1:8080";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "/console/" : "/",
  server: {
    host: "127.0.0.1",
    proxy: { "/console": server, "/v1": server },
  },
  build: {
    outDir: "../crates/leafid-server/src/frontends/http/console/generated",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: true,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: (asset) => (asset.names[0]?.endsWith(".css") ? "app.css" : "[name][extname]"),
        codeSplitting: false,
        postBanner: LICENCES,
      },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
}));
