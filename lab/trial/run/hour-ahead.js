// `node --import`: a process whose clock is an hour ahead.
const HOUR_MS = 3_600_000;
const RightDate = Date;
const ahead = () => RightDate.now() + HOUR_MS;

globalThis.Date = class Date extends RightDate {
  constructor(...given) {
    super(...(given.length === 0 ? [ahead()] : given));
  }

  static now() {
    return ahead();
  }
};
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + HOUR_MS });
