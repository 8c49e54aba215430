/**
 * The same in every CI run, another one on a developer's machine. Tests print it when they fail or in their names; SEED=… repeats a run.
 */
export const SEED = Number(process.env.SEED ?? (process.env.CI ? 20_261_117 : Date.now() % 2 ** 31))
