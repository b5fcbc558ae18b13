// PlanGeneration: generates Swift from a tracking plan, for an application to compile. An event or a property that is
// not in the plan is then an error of the compiler.
//
// - The same plan gives the same text on every machine. Everything is in the order of the plan.
// - Each name in the plan gives one Swift name. If two give the same, that is an error with both places. Names are
//   never numbered, because numbers would shift when the plan changes.
// - It returns text and writes no files. It depends on the plan alone, because it runs in an application's build.
