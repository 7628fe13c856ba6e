import { describe, expect, test } from 'vitest';
import { confirmByReadBack } from '../../../../lib/delivery/handle/read-back.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { safe } from '../../../../lib/message/safe-text.ts';

const unclear = new MessageFailure('unexpected-answer', safe`It answered “Done”`, { remedy: 'Look there.' });
const refused = new MessageFailure('rejected', safe`No`);

describe('a call whose answer does not confirm success', () => {
  const outcomeOf = (look: () => Promise<boolean>, error: Error = unclear) =>
    confirmByReadBack(Promise.reject(error), look).then(
      () => 'done',
      (thrown: unknown) => thrown,
    );

  test('was done if its effect is seen', async () => {
    expect(await outcomeOf(async () => true)).toBe('done');
  });

  test('was not if the platform shows something else', async () => {
    const thrown = await outcomeOf(async () => false);
    expect(thrown).toMatchObject({
      kind: 'unexpected-answer',
      remedy: 'Look there.',
      cause: unclear,
      message: 'It answered “Done”; the platform shows something else than was sent',
      refusal: { kind: 'unexpected-answer', message: 'It answered “Done”' },
    });
  });

  test('is for a person if its effect cannot be seen', async () => {
    expect(await outcomeOf(() => Promise.reject(refused))).toMatchObject({
      kind: 'unexpected-answer',
      cause: unclear,
      message: 'It answered “Done”; and it cannot be seen whether it was done: No',
    });
  });

  test('waits if the platform cannot be asked now', async () => {
    const later = new MessageFailure('unavailable', safe`Later`);
    expect(await outcomeOf(() => Promise.reject(later))).toBe(later);
  });

  test('is not looked up if it succeeded, or was refused', async () => {
    const look = () => Promise.reject(new Error('looked'));
    expect(await confirmByReadBack(Promise.resolve('it'), look)).toBeUndefined();
    expect(await outcomeOf(look, refused)).toBe(refused);
  });
});
