import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { forbidden } from './forbidden.js';

/** Keeps pages of other sites from the stream, which has few places, and from routes that change something. */
@Injectable()
export class OwnPageGuard implements CanActivate {
  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    const site = headers['sec-fetch-site'];
    // `none`: the user typed the address.
    const fetched = site === undefined || site === 'same-origin' || site === 'none';
    if (fetched && isOwnOrigin(headers)) return true;
    throw forbidden('cross_origin', 'Only the page of the control room may do this, not a page of another origin');
  }
}

/** Whether `Origin` is absent or names the host of the request. */
function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  // TLS may end before this process, so the protocol is the origin's. Both URLs leave out its default port.
  const asked = `${protocol}//${host}`;
  return /^https?:$/.test(protocol) && URL.canParse(asked) && new URL(asked).host === from;
}
