/* NO_COLOR wins over FORCE_COLOR. Node would say that it does not, in its own words. */
const { env } = process
if ((env['NO_COLOR'] ?? '') !== '') delete env['FORCE_COLOR']

export {}
