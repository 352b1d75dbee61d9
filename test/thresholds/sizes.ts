/** Whether the product's thresholds have their own values, so that what is quick or proven is, too. */
export const areSizesUsual = (process.env.THRESHOLDS ?? 'default') === 'default'
