import { refreshSettings } from '../../../platform/auth/token-refresh/refresh-settings.ts';
import { counted } from '../alarms.ts';
import type { FunctionParts } from './function-parts.ts';

export const tokenRefresh: FunctionParts = {
  function: 'token-refresh',
  settings: refreshSettings,
  rights: ({ secretNamed }) => [
    {
      Action: [
        'secretsmanager:GetSecretValue',
        'secretsmanager:PutSecretValue',
        'secretsmanager:UpdateSecretVersionStage',
      ],
      Resource: [secretNamed('service-??????'), secretNamed('users/*')],
    },
    // The call returns names only, and IAM grants it for all secrets or none.
    { Action: ['secretsmanager:ListSecrets'], Resource: '*' },
  ],
  alarms: ({ metric }) => ({
    AuthorizationNeeded: {
      severity: 'act now',
      text: 'A person must authorize again, or an OAuth token is not renewed. The log of `token-refresh` names the secret. If its newest lines do not, look at the time at which this alarm began: a refused refresh token is logged only once.',
      see: 'a-person-must-authorize-again',
      ...counted([
        metric('AuthorizationsNeeded', { function: 'token-refresh' }),
        metric('TokenRefreshes', { outcome: 'failed' }),
        metric('TokenRefreshes', { outcome: 'correct' }),
      ]),
      EvaluationPeriods: 12,
    },
  }),
};
