/** A fill lets so much garbage lie, in MB, beside the memory of a container that has just started. */
export const garbageMb = 40;
