import { visible } from '../diagnostics/text-cells.ts'

export type Role = 'plain' | 'good' | 'bad' | 'warn' | 'title' | 'faint' | 'name'
export type Paint = (role: Role, text: string) => string

const STYLES: Readonly<Record<Exclude<Role, 'plain'>, string>> = {
  good: '32',
  bad: '1;31',
  warn: '33',
  title: '1',
  faint: '2',
  name: '36',
}

/** Escapes control characters: text from clients and users must not control the terminal. */
export function painter(colour: boolean): Paint {
  return (role, text) =>
    colour && role !== 'plain' ? `\x1b[${STYLES[role]}m${visible(text)}\x1b[0m` : visible(text)
}
