// osls reads no TypeScript here.
module.exports = async ({ options, resolveVariable }) => {
  const { parametersOf } = await import('./parameters.ts');
  const given = { given: options.param ?? [], folder: process.env.SIS_RELAY_STAGES };
  return parametersOf(resolveVariable, given).catch(({ message }) => {
    // Of an error, osls would show the stack. It writes words of its own before it.
    throw `\n${message}`;
  });
};
