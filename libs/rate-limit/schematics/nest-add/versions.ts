const VERSION = /^([\^~=v]*)(\d+)(?:\.(\d+|[x*]))?(?:\.(\d+|[x*]))?$/;

/**
 * Whether no version of a range in a package.json is within a peer range. A tag, a URL and a range of several parts are not judged.
 *
 * @param peers such as `^5.4.2 || ^6.0.0`
 */
export function isOutside(range: string, peers: string): boolean {
  const parts = VERSION.exec(range.trim());
  if (parts === null) return false;
  const highest = highestOf(parts);
  return !peers.split(' || ').some((peer) => {
    const lowest = peer.slice(1).split('.').map(Number);
    const differing = lowest.findIndex((number, i) => number !== highest[i]);
    return differing === -1 || (differing > 0 && highest[differing]! > lowest[differing]!);
  });
}

/** The numbers of the highest version; infinite where the range leaves them open. */
function highestOf([, sign, major, minor, patch]: RegExpExecArray): number[] {
  const open = sign!.includes('^') ? 1 : sign!.includes('~') ? 2 : 3;
  return [major, minor, patch].map((part, i) => (i < open && /^\d/.test(part ?? '') ? Number(part) : Infinity));
}
