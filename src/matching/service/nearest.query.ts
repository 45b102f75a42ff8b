import { NearbyQuery } from '../drivers/nearby.query.js';
import { FromQuery, IsIntBetween } from '../../http/validation.js';

export class NearestQuery extends NearbyQuery {
  @FromQuery() @IsIntBetween(1, 1000) limit: number = 50;
}
