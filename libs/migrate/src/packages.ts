/** The packages whose names are rewritten. The second one is where a switch by import leaves an application. */
export const THROTTLER = ['@nestjs/throttler', 'nestjs-floodgate/throttler'];
