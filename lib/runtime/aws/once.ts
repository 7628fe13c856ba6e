/** Makes a value when it is first asked for, and then always gives the same; where that throws, it is tried anew. */
export const once = <Value>(make: () => Value): (() => Value) => {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
