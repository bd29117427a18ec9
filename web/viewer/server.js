// What is asked of the gateway.

/** Nobody is signed in. */
export class SignedOut extends Error {}

/** @param {Response} response */
async function answered(response) {
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const message = body?.error?.message ?? `the gateway answered ${response.status}`;
  throw response.status === 401 ? new SignedOut(message) : new Error(message);
}

/**
 * @param {string} path @param {Record<string, string | number | null | undefined>} [query]
 * @returns {Promise<any>}
 */
export async function ask(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const tail = search.size > 0 ? `?${search}` : '';
  return answered(await fetch(`/ui/api/${path}${tail}`, { cache: 'no-store' }));
}

/** @param {string} path @param {object} [order] @returns {Promise<any>} */
export async function order(path, order = {}) {
  const headers = { 'content-type': 'application/json', 'x-thinkthrough-viewer': '1' };
  return answered(await fetch(`/ui/api/${path}`, { method: 'POST', headers, body: JSON.stringify(order) }));
}
