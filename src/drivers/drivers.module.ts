import { Module } from '@nestjs/common';
import { MatchingModule } from '../matching/matching.module.js';
import { DriversController } from './drivers.controller.js';

@Module({
  imports: [MatchingModule],
  controllers: [DriversController],
})
export class DriversModule {}
