import { ok } from '../http/answer.ts';
import { keptFileAnswer, receiveOnlyFile } from '../http/kept-file.ts';
import { badRequest, notFound } from '../http/refusal.ts';
import { type Call, ownPath, route } from '../route.ts';

const path = 'profile/user/{userId}/image';

export const profileImageRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path,
    scope: 'core:*:*',
    permission: 'SeeProfiles',
    own: ownPath,
    handle(call) {
      requireUser(call);
      const image = call.state.tables.profileImages.get(call.ids.userId);
      if (image === undefined) throw notFound('Profile image');
      return keptFileAnswer(call.state, image);
    },
  }),

  route({
    method: 'POST',
    component: 'lp',
    path,
    scope: 'core:*:*',
    permission: 'EditProfiles',
    own: ownPath,
    async handle(call) {
      requireUser(call);
      const { userId } = call.ids;
      const { profileImages } = call.state.tables;
      const image = await receiveOnlyFile(call, 'profileImage');
      if (!image.contentType.startsWith('image/')) throw badRequest('A profile image must be an image');
      profileImages.put({ userId, ...image, writes: (profileImages.get(userId)?.writes ?? 0) + 1 });
      return ok;
    },
  }),
];

function requireUser({ ids, state }: Call<'userId'>) {
  if (state.tables.users.get(ids.userId) === undefined) throw notFound('User');
}
