import { IsInt, Max, Min } from 'class-validator';
import { NearbyQuery } from '../../drivers/nearby.query.js';
import { FromQuery } from '../../http/validation.js';

export class NearestQuery extends NearbyQuery {
  @FromQuery() @IsInt() @Min(1) @Max(1000) limit: number = 50;
}
