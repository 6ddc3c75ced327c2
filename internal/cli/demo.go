package cli

// DemoModel is the model that serve offers without a configuration.
const DemoModel = "demo"
