// A manifest of 35,000 routes, 90 MB, of which a page reads one (manifest.html).
//
//     node examples/manifest.js        serves it, and says where

import { pathToFileURL } from "node:url";
import { encode } from "livebuf/encode";
import { serve } from "./server.js";

/** The path of route i. */
export const routeOf = (i) => `/docs/${["guides", "api", "blog", "help", "shop"][i % 5]}/${(i * 7919) % 35_000}`;

/** The bytes of a manifest of so many routes. What each route inlines makes up most of them. */
export function manifest(count) {
  const style = ".card { display: grid; gap: 1rem; padding: 1rem 2rem; border-radius: 8px; } ".repeat(33);
  const routes = {};
  for (let i = 0; i < count; i++) {
    routes[routeOf(i)] = {
      title: `Page ${i}`,
      component: ["Article", "Landing", "Product", "Search"][i % 4],
      auth: i % 9 === 0,
      chunks: [i % 400, (i * 13) % 400, (i * 57) % 400],
      style: `/* route ${i} */ ${style}`,
    };
  }
  return encode({ version: 3, built: new Date(0), routes });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await serve({ "/manifest.lbuf": manifest(35_000) });
  console.log(`${url}/manifest.html?route=${routeOf(4321)}`);
}
