/* NO_COLOR wins over FORCE_COLOR. Otherwise, Node would print a warning that it does not. */
const { env } = process
if ((env['NO_COLOR'] ?? '') !== '') delete env['FORCE_COLOR']

export {}
