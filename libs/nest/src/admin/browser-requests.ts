import { type CanActivate, type ExecutionContext, HttpException, HttpStatus } from '@nestjs/common';
import { shown } from 'floodgate/internal';

interface BrowserRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

const READS = ['GET', 'HEAD'];
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/**
 * Refuses what a page of another site can make a browser send with an operator's credentials. A form sends no JSON, and a script that does
 * needs the permission of CORS.
 */
export const BROWSER_GUARD: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    const { method, headers } = context.switchToHttp().getRequest<BrowserRequest>();
    if (READS.includes(method)) return true;
    if (headers['sec-fetch-site'] === 'cross-site') {
      throw refused(
        HttpStatus.FORBIDDEN,
        'forbidden',
        'A page of another site sent the request (Sec-Fetch-Site: cross-site): send it from a page of this site, or from no browser',
      );
    }
    const type = headers['content-type'];
    if (typeof type === 'string' && JSON_TYPE.test(type)) return true;
    throw refused(
      HttpStatus.BAD_REQUEST,
      'invalid_request',
      `The body: must be a JSON object (Content-Type: application/json), got ${type === undefined ? 'none' : shown(type)}`,
    );
  },
};

function refused(statusCode: HttpStatus, error: string, message: string): HttpException {
  return new HttpException({ statusCode, error, message }, statusCode);
}
