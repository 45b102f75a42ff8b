import type { Identity, RateLimitRequest } from 'nestjs-floodgate';

/** One spelling for each account: an attacker must not get five more guesses by writing in capitals. */
export function normalEmail(email: string): string {
  return email.trim().normalize('NFKC').toLowerCase();
}

/** The account that a login names, whether it exists or not. The body is not validated yet. */
export function accountNamed({ body }: RateLimitRequest<{ body?: { email?: unknown } }>): Identity | undefined {
  const email = body?.email;
  return typeof email === 'string' ? { kind: 'account', value: normalEmail(email) } : undefined;
}
