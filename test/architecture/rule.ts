export interface SourceFile {
  /** Relative to the root of the repository, with slashes: `src/cel/index.ts`. */
  readonly path: string
  readonly text: string
}

export interface Violation {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** A rule checks all files at once, so that a test can plant a violation in memory. */
export type Rule = (files: readonly SourceFile[]) => readonly Violation[]

/** A file that may break one rule, and why; an unused exception is a violation. */
export interface Exception {
  readonly path: string
  readonly reason: string
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.endsWith('.test.tsx')
}

export function isTypeScript(path: string): boolean {
  return /\.[cm]?tsx?$/.test(path)
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

export function renderViolation({ path, line, message }: Violation): string {
  return `${path}:${line}: ${message}`
}

export function except(
  violations: readonly Violation[],
  exceptions: readonly Exception[],
): readonly Violation[] {
  const excused = new Set(exceptions.map(({ path }) => path))
  const stale = exceptions.filter(({ path }) => !violations.some((found) => found.path === path))
  return [
    ...violations.filter(({ path }) => !excused.has(path)),
    ...stale.map(({ path }) => ({
      path,
      line: 1,
      message: 'has an exception in test/architecture/table.ts that it does not need: remove it',
    })),
  ]
}
