import type { HttpRequest } from '../http/request.js';
import { ForwardedWatch, trustProxyWarning, type TrustProxySetting } from '../http/trust-proxy.js';

/** The trust-proxy setting of a server, as it stands at a request; undefined where the request has none. */
export type SettingAt = (request: HttpRequest) => TrustProxySetting | undefined;

/** Looks at a server's trust-proxy setting, and whether requests show that it is wrong. */
export class ProxyWatch {
  private readonly forwarded: ForwardedWatch;

  constructor(
    private readonly settingAt: SettingAt,
    private readonly warn: (warning: string) => void,
  ) {
    this.forwarded = new ForwardedWatch(settingAt, warn);
  }

  /** Looks at the first request of a server: an application may set its trust proxy after it has the limits. */
  begin(request: HttpRequest): void {
    const warning = trustProxyWarning(this.settingAt(request));
    if (warning !== undefined) this.warn(warning);
  }

  /** Looks at a request. */
  see(request: HttpRequest): void {
    if (this.forwarded.isWatching) this.forwarded.see(request);
  }
}
