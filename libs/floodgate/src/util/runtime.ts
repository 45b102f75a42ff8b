/**
 * Whether this is a Worker of Cloudflare. A timer ends there with the request that set it, a request may end without another line of its
 * code, and while modules are loaded there are no timers. So no timer of one request may serve another one.
 *
 * Source: https://developers.cloudflare.com/workers/runtime-apis/web-standards/#navigatoruseragent
 */
export function isWorker(): boolean {
  return (globalThis as { navigator?: { userAgent?: unknown } }).navigator?.userAgent === 'Cloudflare-Workers';
}

/** Lets the process end although the timer has not fired. Where timers are numbers, they keep no process alive. */
export function unheld<T>(timer: T): T {
  (timer as { unref?: () => unknown }).unref?.();
  return timer;
}
