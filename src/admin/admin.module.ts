import { Module } from '@nestjs/common';
import { RateLimitAdminModule } from 'nestjs-floodgate';
import { OperatorGuard } from './operator.guard.js';

/** The library's endpoints for operators: table, explain, reset and overrides, behind the token of `ADMIN_TOKEN`. */
@Module({ imports: [RateLimitAdminModule.register({ path: 'api/admin/limits', guards: [OperatorGuard] })] })
export class AdminModule {}
