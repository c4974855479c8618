"""What people see in a notebook: cards of tensors, diagrams of graphs and plans, profiles.

Here: `attach` gives Tensor and Plan their pictures and is all that `import tensorframe` loads; `style` holds the
colours and what every piece of HTML is wrapped in. Each other module draws one thing and is loaded when that is first
shown.
"""
