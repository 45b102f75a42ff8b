/** Reads the headers of axios: an object with a method `get`, or a plain one with names in lower case. */
export function axiosHeaders(headers) {
  return (name) => {
    if (typeof headers !== 'object' || headers === null) return undefined;
    const { get } = headers;
    const value = typeof get === 'function' ? get.call(headers, name) : headers[name];
    if (Array.isArray(value)) return value.join(', ');
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  };
}
