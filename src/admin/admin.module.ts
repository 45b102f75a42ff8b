import { Module } from '@nestjs/common';
import { RateLimitAdminModule } from 'nestjs-floodgate';
import { AccountsModule } from '../accounts/accounts.module.js';
import { OperatorGuard } from './operator.guard.js';
import { RiderPlansController } from './rider-plans.controller.js';

/** The library's endpoints for operators: table, explain, reset and overrides, behind the token of `ADMIN_TOKEN`. */
@Module({
  imports: [AccountsModule, RateLimitAdminModule.register({ path: 'api/admin/limits', guards: [OperatorGuard] })],
  controllers: [RiderPlansController],
})
export class AdminModule {}
