/** A city so small that a busy machine carries its surge, too. Tests that judge no figures run it. */
export const SMALL = {
  MATCHING_WORKERS: '4',
  MATCHING_SERVICE_MS: '200',
  MATCHING_QUEUE: '40',
  MATCHING_LIMIT: '16',
  MATCHING_BURST: '20',
};
