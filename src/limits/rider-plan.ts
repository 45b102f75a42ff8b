import { apiKeyIdentity, type RateLimitRequest, userIdentity } from 'nestjs-floodgate';
import type { RiderAccounts } from '../accounts/rider-accounts.js';
import { isId } from '../http/validation.js';

const apiKey = apiKeyIdentity();
const user = userIdentity();

/**
 * Finds the plan of the client that the policies count: the rider in `X-User-Id`. Clients with an API key are counted by the
 * key, and clients without a name by their address, so these have no plan, whatever else their requests say.
 */
export function planFrom(
  accounts: Pick<RiderAccounts, 'find'>,
): (request: RateLimitRequest) => Promise<string | undefined> | undefined {
  return (request) => {
    if (apiKey.resolve(request) !== undefined) return undefined;
    const riderId = user.resolve(request);
    // A text that is no valid id has no account, and costs no query.
    return isId(riderId) ? accounts.find(riderId).then((account) => account?.plan) : undefined;
  };
}
