// What serverless.yml takes of the settings: osls reads no TypeScript there.
const allSettings = () => import('./all-settings.ts');

module.exports = {
  params: async ({ options, resolveVariable }) => {
    const { parametersOf } = await import('./parameters.ts');
    const given = { given: options.param ?? [], folder: process.env.SIS_RELAY_STAGES };
    return parametersOf(resolveVariable, given).catch(({ message }) => {
      // Of an error, osls would show the stack. It writes words of its own before it.
      throw `\n${message}`;
    });
  },
  environments: async () => (await allSettings()).environments(),
  options: async () => (await allSettings()).templateOptions(),
};
