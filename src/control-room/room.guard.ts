import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { ALL_ADDRESSES, type Configuration } from '../config/configuration.js';
import { hostName, isLoopback } from '../config/host-name.js';
import { forbidden } from '../http/forbidden.js';

/**
 * Allows requests to the control room whose `Host` is this machine or a name in `CONTROL_ROOM_HOSTS`.
 *
 * A foreign page can rebind its name to this machine's address (DNS rebinding). For its browser it then has the same origin,
 * and only the name in `Host` differs. The guard does not compare ports, since port forwarding changes them.
 */
@Injectable()
export class RoomGuard implements CanActivate {
  private readonly names: ReadonlySet<string | undefined>;

  constructor(config: ConfigService<Configuration, true>) {
    const bind = config.get('bind', { infer: true });
    const own = bind === ALL_ADDRESSES ? [] : [hostName(isIPv6(bind) ? `[${bind}]` : bind)];
    this.names = new Set(
      [...own, ...config.get('controlRoomHosts', { infer: true })].filter(
        (name) => name !== '0.0.0.0' && name !== '[::]',
      ),
    );
  }

  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    // Never X-Forwarded-Host, since a page can send it.
    const name = hostName(context.switchToHttp().getRequest<IncomingMessage>().headers.host);
    if (name !== undefined && (isLoopback(name) || this.names.has(name))) return true;
    throw forbidden(
      'host_not_allowed',
      'Open the control room as localhost, or add this host name to the variable CONTROL_ROOM_HOSTS',
    );
  }
}
