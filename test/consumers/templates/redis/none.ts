export const redis = undefined;
