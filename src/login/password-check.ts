import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { isPassword } from '../accounts/password.js';
import { BusyException } from '../http/busy.js';

/** Two of the four threads that Node.js has for such work: files and host names need them, too. */
const AT_ONCE = 2;
/** Some seconds of work. */
const MAX_WAITING = 50;

/** In place of an account that does not exist: a hash as costly as the others, which no password has. */
export const NOBODY = 'scrypt$16384$8$5$bm9ib2R5IG5vYm9keSBubw==$bm9ib2R5IGhhcyB0aGlzIGtleSwgbm8gcGFzc3dvcmQ=';

/** Compares passwords with their hashes. That takes 0.1 s of a core and 16 MB each, so that only some are compared at once. */
@Injectable()
export class PasswordCheck {
  private readonly limited = pLimit(AT_ONCE);

  /**
   * Whether the password is the hashed one.
   *
   * @param hash undefined for an account that does not exist, which takes the same time
   * @throws BusyException when too many wait
   */
  async matches(password: string, hash: string | undefined): Promise<boolean> {
    if (this.limited.pendingCount >= MAX_WAITING) {
      throw new BusyException({
        status: 503,
        error: 'too_many_logins',
        message: 'Too many logins at once, retry in 1 second',
        retryAfter: 1,
      });
    }
    const equal = await this.limited(isPassword, password, hash ?? NOBODY);
    return equal && hash !== undefined;
  }
}
