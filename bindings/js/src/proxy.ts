// Views as plain objects and arrays, for code that asks for those: `in`, spread, `Array.isArray`, destructuring.

import { forJSON } from "./object.js";
import { cursorOf, get, has, isView, keys, size, stateOf } from "./view.js";

const made = new WeakMap<object, object>();

/**
 * A view as an object or array that other code takes for a plain one: `Object.keys`, spread, `Array.isArray` and
 * destructuring work. It reads in place, too, but takes some ten times as long as the getters of a view. It cannot be
 * written to. The same value gives the same proxy. Values that are no objects or arrays are returned as they are.
 */
export function proxy<T = unknown>(view: T): T {
  if (!isView(view)) return view;
  const known = made.get(view);
  if (known !== undefined) return known as T;
  const isArray = stateOf(view).isArray;
  const found = new Proxy(isArray ? [] : {}, isArray ? arrayHandler(view) : objectHandler(view));
  made.set(view, found);
  return found as T;
}

/** What is below a view, as proxies: for a value that was asked for before, the same one. */
function below(view: object): (step: string | number) => unknown {
  const views = new Map<string | number, object>();
  return (step) => {
    const value = get(view, step);
    // An editor has the same view each time, and lets those of removed values go.
    if (!isView(value) || stateOf(value).m.views !== null) return proxy(value);
    const before = views.get(step);
    if (before !== undefined) {
      const [old, now] = [stateOf(before), stateOf(value)];
      if (old.home === now.home && old.row === now.row) return proxy(before);
    }
    views.set(step, value);
    return proxy(value);
  };
}

const refuse = (): boolean => false;
const READ_ONLY = { set: refuse, defineProperty: refuse, deleteProperty: refuse, setPrototypeOf: refuse };

function objectHandler(view: object): ProxyHandler<object> {
  const member = below(view);
  return {
    ...READ_ONLY,
    get: (target, key) => {
      if (typeof key === "string" && has(view, key)) return member(key);
      return key === "toJSON" ? () => forJSON(cursorOf(view)) : Reflect.get(target, key);
    },
    has: (target, key) => (typeof key === "string" && has(view, key)) || Reflect.has(target, key),
    // Damage may have a key twice, which an object cannot.
    ownKeys: () => [...new Set(keys(view))],
    getOwnPropertyDescriptor: (_, key) =>
      typeof key === "string" && has(view, key)
        ? { value: member(key), enumerable: true, configurable: true, writable: false }
        : undefined,
  };
}

function arrayHandler(view: object): ProxyHandler<object> {
  const element = below(view);
  const index = (key: string | symbol): number =>
    typeof key === "string" && /^(0|[1-9]\d{0,9})$/.test(key) && Number(key) < size(view) ? Number(key) : -1;
  return {
    ...READ_ONLY,
    get: (target, key, receiver) => {
      if (key === "length") return size(view);
      if (key === "toJSON") return () => forJSON(cursorOf(view));
      const i = index(key);
      return i < 0 ? Reflect.get(target, key, receiver) : element(i);
    },
    has: (target, key) => index(key) >= 0 || Reflect.has(target, key),
    ownKeys: () => [...Array.from({ length: size(view) }, (_, i) => String(i)), "length"],
    getOwnPropertyDescriptor: (target, key) => {
      // The length of an array is not configurable, so a proxy must tell that of its target.
      if (key === "length") {
        (target as unknown[]).length = size(view);
        return Reflect.getOwnPropertyDescriptor(target, key);
      }
      const i = index(key);
      if (i < 0) return undefined;
      return { value: element(i), enumerable: true, configurable: true, writable: false };
    },
  };
}
