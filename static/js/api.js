/** Calls to the server: JSON in and out, problems as errors. */

import { observe } from "./time.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

/** The path that Nomos is served under, without a slash at its end. */
export const BASE = meta("nomos-base");

/** What went wrong with a call. `status` 0: no answer came. `code` is stable, `message` is for people. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The server answered with status ${status}.`);
    this.status = status;
    this.code = body.code ?? null;
    this.body = body;
  }
}

/** @param {string} path below /api/v1 @returns {string} */
export const apiUrl = (path) => `${BASE}/api/v1${path}`;

/**
 * Call the API.
 * @returns {Promise<object|null>} the answer's body. @throws {Problem}
 */
export async function call(method, path, body = undefined) {
  const headers = { Accept: "application/json", "X-CSRF-Token": meta("csrf-token") };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(apiUrl(path), { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Problem(0, { detail: "Nomos cannot be reached from here." });
  }
  observe(response.headers.get("Date"));
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    if (response.status === 401) document.dispatchEvent(new CustomEvent("nomos:signed-out"));
    throw new Problem(response.status, answer ?? {});
  }
  return answer;
}
