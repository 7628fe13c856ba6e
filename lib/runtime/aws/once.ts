/** Creates a value at its first use and keeps it; if that throws, the next use tries again. */
export const once = <Value>(make: () => Value): (() => Value) => {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
