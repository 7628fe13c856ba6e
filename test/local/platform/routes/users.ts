import { json } from '../http/answer.ts';
import { route } from '../route.ts';

export const userRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path: 'users/whoami',
    scope: null,
    permission: null,
    handle: ({ caller }) =>
      json({
        Identifier: String(caller.userId),
        FirstName: caller.firstName,
        LastName: caller.lastName,
        UniqueName: caller.userName,
        ProfileIdentifier: `profile-${caller.userId}`,
      }),
  }),
];
